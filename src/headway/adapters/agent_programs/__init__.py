"""What the native agents have in common: how their programs are run, heard and paid. No adapter stands here.

`carrying_out.py` is the way in; `agents/<name>.py` says how one program is called and what its stream means.
"""
