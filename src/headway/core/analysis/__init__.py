"""What a log amounts to: rates, costs, where the gain came from, what was nearly kept, what failures share.

Pure: a log as `core/log_reading.py` reads it goes in, with what its records tell beside it; frozen values come out. A
number that the log does not hold is None, never zero.

Source: DESIGN sections 9 and 10 (report, analyze); issue 9.
"""
