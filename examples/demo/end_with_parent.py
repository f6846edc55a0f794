"""Runs a program of the demo in Python, and ends it when the demo is gone and cannot stop it.

Its standard input is a pipe from the demo without data, which closes when the demo ends in any way.
Arguments: the temporary directory of the demo, which the last process removes, and the program.
"""

import os
import runpy
import shutil
import sys
import threading

folder, program = sys.argv[1:3]


def wait_for_the_end() -> None:
    while os.read(0, 4096):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    # Without waiting for other threads.
    os._exit(0)


threading.Thread(target=wait_for_the_end, daemon=True).start()
sys.argv = [program]
sys.path[0] = os.path.dirname(program)
runpy.run_path(program, run_name="__main__")
