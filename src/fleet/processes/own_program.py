"""The command line that starts fleet itself, for every process that runs fleet once more."""

import sys

#: `-P`: nothing is imported from the working directory, which can be a project that agents write.
OWN_PROGRAM = (sys.executable, "-P", "-m", "fleet")
