"""Runs a program on a new pseudo-terminal for terminal.ts.

argv[1] is JSON: columns, rows, and whether stdout goes to the terminal too or to a pipe. The rest is the command.
Commands come as JSON lines on stdin, what happens goes as JSON lines to stdout. No line is sent by a clock.
"""
import base64, fcntl, json, os, pty, select, signal, struct, sys, termios

settings, argv = json.loads(sys.argv[1]), sys.argv[2:]
master, slave = pty.openpty()


def resize(columns, rows):
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))


def tell(**what):
    print(json.dumps(what), flush=True)


def read(end):
    """What there is to read; nothing at all when that end is closed."""
    try:
        return os.read(end, 65536)
    except BlockingIOError:
        return None
    except OSError:
        return b''


resize(settings['columns'], settings['rows'])
before = termios.tcgetattr(slave)
out_read, out_write = os.pipe() if settings['pipe'] else (None, slave)
wake_read, wake_write = os.pipe()
for end in (wake_read, wake_write, master, out_read):
    if end is not None:
        os.set_blocking(end, False)
signal.set_wakeup_fd(wake_write)
signal.signal(signal.SIGCHLD, lambda *_: None)

pid = os.fork()
if pid == 0:
    signal.set_wakeup_fd(-1)
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    os.dup2(slave, 0)
    os.dup2(out_write, 1)
    os.dup2(slave, 2)
    os.execvp(argv[0], argv)
if out_read is not None:
    os.close(out_write)

ended = None
open_ends = {end: name for end, name in ((master, 'screen'), (out_read, 'stdout')) if end is not None}
commands = b''
watch_input = True
while ended is None:
    inputs = [*open_ends, wake_read] + ([0] if watch_input else [])
    ready, _, _ = select.select(inputs, [], [])
    for end in ready:
        if end == wake_read:
            read(wake_read)
            gone, status = os.waitpid(pid, os.WNOHANG)
            if gone:
                ended = os.waitstatus_to_exitcode(status)
        elif end == 0:
            part = os.read(0, 65536)
            if not part:
                # The process that controlled this script has ended, so the program is ended too.
                watch_input = False
                if ended is None:
                    os.kill(pid, signal.SIGKILL)
            commands += part
            *lines, commands = commands.split(b'\n')
            for line in lines:
                command = json.loads(line)
                if 'type' in command:
                    os.write(master, command['type'].encode())
                if 'resize' in command:
                    resize(*command['resize'])
                # The program may have ended in this round.
                if 'signal' in command and ended is None:
                    os.kill(pid, getattr(signal, command['signal']))
                if 'close' in command:
                    # The window is closed: the kernel sends SIGHUP to everything that runs in it.
                    open_ends.pop(master, None)
                    os.close(master)
                    os.close(slave)
                    master = slave = None
        else:
            part = read(end)
            if part:
                tell(end=open_ends[end], text=base64.b64encode(part).decode())
            elif part == b'':
                open_ends.pop(end, None)

for end, name in open_ends.items():
    while part := read(end):
        tell(end=name, text=base64.b64encode(part).decode())
# Whether the terminal's settings (echo, line mode, Ctrl-C) are the same as before.
restored = None if slave is None else termios.tcgetattr(slave)[:4] == before[:4]
tell(ended=ended, restored=restored)
