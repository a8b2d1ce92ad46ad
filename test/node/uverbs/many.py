"""Opens as many contexts, with as many queue pairs in each in RTS, as its arguments say; waits until its input ends."""
import sys

import killed

for _ in range(int(sys.argv[1])):
    ctx = killed.context()
    count = int(sys.argv[2])
    if count > 0:
        killed.many_connected(ctx, count)
print('ready', flush=True)
sys.stdin.read()
