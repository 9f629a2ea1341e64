"""What the programs of failing runs share: the mode, a tool that fails as the mode says, and how the run ended.

Modes: raise (the tool raises and the run fails), recover (it raises once, then succeeds), status400, status429 (the
provider refuses the call), timeout (the provider does not answer in time), interrupt (the run waits for a person).
"""

import asyncio
import inspect
import os

import recording

MODE = os.environ["RECORD_MODE"]
MESSAGE = "The town is unknown"
MODEL_TIMEOUT = 0.5  # seconds; the provider hangs for longer
WAITS, ANSWERED = "waits", "answered"
attempts = 0


def get_weather(city: str) -> str:
    """The weather of a city."""
    global attempts
    attempts += 1
    if MODE == "raise" or MODE == "recover" and attempts == 1:
        recording.tell("tool", {"name": "get_weather", "arguments": {"city": city}, "error": MESSAGE})
        raise ValueError(MESSAGE)
    return recording.get_weather(city)


def run(agent):
    """Calls agent, and tells the recorder how the run ended. agent returns WAITS, ANSWERED, or None for neither."""
    try:
        end = agent()
        if inspect.isawaitable(end):
            end = asyncio.run(until(end))
    except Exception as exception:  # the class is the library's own
        message = str(exception).partition("\n")[0]  # without a traceback
        recording.knows(ended="raised", raised={"type": type(exception).__name__, "message": message})
        return
    recording.knows(ended=end)


async def until(awaitable):
    return await awaitable
