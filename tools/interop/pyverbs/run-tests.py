"""
Runs the tests of a directory of Python test modules, each in a process of its own with a bounded time, and prints one
line of JSON for each: its name, what came of it, and why. What the tests themselves print goes to standard error.

    runner.py DIRECTORY SECONDS INTERFACE [PATTERN...]

DIRECTORY is a package of the name "tests", beside which its modules find each other. PATTERNs choose by the name
of a test, module.class.method, as fnmatch has them; without one all are run.
"""
import fnmatch
import importlib
import json
import os
import select
import signal
import sys
import time
import unittest


def tests_of(suite):
    """Each test of a suite of suites."""
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from tests_of(part)
        else:
            yield part


def last_line(trace):
    """What an exception says, which is the end of its trace."""
    lines = [line for line in trace.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else ''


def verdict_of(test):
    """Runs a test in this process."""
    result = unittest.TestResult()
    unittest.TestSuite([test]).run(result)
    for verdict, found in (('error', result.errors), ('fail', result.failures)):
        if found:
            print(found[0][1], file=sys.stderr, flush=True)
            return verdict, last_line(found[0][1])
    if result.unexpectedSuccesses:
        return 'fail', 'it passes, and was expected to fail'
    if result.skipped:
        return 'skip', result.skipped[0][1]
    return 'pass', ''


def run_in_child(test, out):
    """The child's part: never returns. Its group is all that the test starts."""
    os.setsid()
    os.dup2(2, 1)
    try:
        verdict = verdict_of(test)
    except BaseException as error:  # pylint: disable=broad-except
        verdict = 'error', repr(error)
    os.write(out, json.dumps(verdict).encode())
    os._exit(0)


def answer_of(pid, source, seconds):
    """What the child says, or how it ended without a word."""
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        if left <= 0:
            return 'timeout', 'it did not end within %d seconds' % seconds
        ready, _, _ = select.select([source], [], [], min(left, 0.2))
        if ready:
            text = os.read(source, 65536)
            return tuple(json.loads(text)) if text else ('error', 'its process ended without a word')
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            # Children of its own may still hold the other end of the pipe.
            ready, _, _ = select.select([source], [], [], 0)
            if not ready:
                return 'error', 'its process ended without a word'


def run_bounded(test, seconds):
    source, out = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(source)
        run_in_child(test, out)
    os.close(out)
    try:
        return answer_of(pid, source, seconds)
    finally:
        os.close(source)
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def tell_interface(name):
    """Says which interface the device has, where the tests look for that."""
    exists = os.path.exists
    os.path.exists = lambda path: str(path).endswith('/device/net/') or exists(path)
    importlib.import_module('tests.base').RDMATestCase.get_net_name = staticmethod(lambda *port: name)


def main():
    directory, seconds, interface, *patterns = sys.argv[1:]
    sys.argv[1:] = []
    sys.path[:0] = [os.path.dirname(os.path.abspath(directory)), os.path.abspath(directory)]
    importlib.import_module('args_parser').parser.parse_args()
    package = importlib.import_module('tests')
    tell_interface(interface)
    for test in tests_of(unittest.defaultTestLoader.loadTestsFromModule(package)):
        name = test.id().removeprefix('tests.')
        if patterns and not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            continue
        begun = time.monotonic()
        verdict, why = run_bounded(test, int(seconds))
        line = {'name': name, 'verdict': verdict, 'why': why, 'ms': round(1000 * (time.monotonic() - begun))}
        print(json.dumps(line), flush=True)


main()
