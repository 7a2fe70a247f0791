"""Starts a supervisor: `python -I -S FOLDER SOCKET`, where FOLDER is this one.

Python puts the folder itself on its path; its modules belong to a package and are found from the folder above, after
the standard library, which nothing of headway may shadow.
"""

import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

if __name__ == "__main__":
    sys.path[:1] = []
    sys.path.append(os.path.dirname(HERE))
    importlib.import_module(f"{os.path.basename(HERE)}.server").main()
