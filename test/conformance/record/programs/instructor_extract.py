"""Instructor: an answer in the shape of a class; one that is asked for again because it breaks a rule; a refused call."""

import recording

recording.start()

import instructor  # noqa: E402, instrumented before it is used
from openai import OpenAI  # noqa: E402
from pydantic import BaseModel, field_validator  # noqa: E402


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    degrees: int

    @field_validator("degrees")
    @classmethod
    def possible(cls, degrees):
        if degrees > 60:
            raise ValueError("no city is that hot")
        return degrees


client = instructor.from_openai(OpenAI(max_retries=0))
messages = [{"role": "system", "content": recording.SYSTEM}, {"role": "user", "content": recording.QUESTION}]
client.chat.completions.create(model="gpt-5-mini", response_model=Weather, messages=messages)
client.chat.completions.create(model="gpt-5-mini", response_model=Weather, messages=messages, max_retries=2)
recording.refused(client.chat.completions.create, model="gpt-5-mini", response_model=Weather, messages=messages, max_retries=1)
