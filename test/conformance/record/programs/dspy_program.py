"""A DSPy predictor."""

import recording

recording.start()

import dspy  # noqa: E402

dspy.configure(lm=dspy.LM("openai/gpt-4.1-mini", cache=False, num_retries=0))
dspy.Predict("question -> answer")(question=recording.QUESTION)
