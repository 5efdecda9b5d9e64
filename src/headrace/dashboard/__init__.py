"""The live page: the plans of running programs as flows, their waits and the processors' use over time, in a browser."""
