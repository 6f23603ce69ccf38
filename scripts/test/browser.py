"""A headless Chromium for tests and pictures of pages: opens, reads, points, types, clicks and
takes screenshots, by the DevTools protocol over a pair of pipes."""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

FLAGS = ['--headless', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update', '--disable-sync',
         '--disable-extensions', '--hide-scrollbars', '--remote-debugging-pipe']
KEY_CODES = {'Backspace': 8, 'Escape': 27, 'ArrowDown': 40}


class Browser:
    """A browser with one page. Use it as a context manager, which ends the browser."""

    def __init__(self, width=1280, height=800, timeout=1200):
        self.timeout = timeout
        self.profile = tempfile.mkdtemp(prefix='browser.')
        self.buffer = b''
        self.last_id = 0
        self.session = None
        self.events = []
        self.process = self._start(width, height)
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.call(domain + '.enable')
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def _start(self, width, height):
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()
        command = [shutil.which('chromium') or 'chromium', *FLAGS,
                   '--user-data-dir=' + self.profile, f'--window-size={width},{height}']
        if os.getuid() == 0:
            command.append('--no-sandbox')
        # The browser reads from descriptor 3 and writes to 4.
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        process = subprocess.Popen(['bash', '-c', shell, 'browser', *command],
                                   pass_fds=(to_read, to_write), start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        return process

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _next_message(self, end):
        while b'\0' not in self.buffer:
            if not select.select([self.from_browser], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError('the browser does not answer')
            data = os.read(self.from_browser, 1 << 20)
            if not data:
                raise RuntimeError('the browser has exited')
            self.buffer += data
        text, self.buffer = self.buffer.split(b'\0', 1)
        message = json.loads(text)
        if 'method' in message:
            self.events.append(message)
        return message

    def call(self, method, **params):
        """Calls a method of the protocol and returns its result."""
        self.last_id += 1
        message = {'id': self.last_id, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.to_browser, data):]
        end = time.monotonic() + self.timeout
        while True:
            answer = self._next_message(end)
            if answer.get('id') == self.last_id:
                break
        if 'error' in answer:
            raise RuntimeError(f'{method}: {answer["error"]}')
        return answer['result']

    def seen(self, method):
        """The parameters of all events of a kind since the page was opened."""
        return [event['params'] for event in self.events if event['method'] == method]

    def open(self, path):
        """Opens a file and waits until it is loaded."""
        self.events = []
        self.call('Page.navigate', url='file://' + os.path.abspath(path))
        end = time.monotonic() + self.timeout
        while not self.seen('Page.loadEventFired'):
            self._next_message(end)

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True,
                           awaitPromise=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError(f'{expression}: {answer["exceptionDetails"]}')
        return answer['result'].get('value')

    def settle(self):
        """Waits until the page is drawn."""
        self.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => '
                      'done(0))))')

    def _mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def point(self, x, y):
        """Moves the mouse."""
        self._mouse('mouseMoved', x, y)
        self.settle()

    def click(self, x, y):
        """Clicks with the first button."""
        self._mouse('mouseMoved', x, y)
        self._mouse('mousePressed', x, y, button='left', clickCount=1)
        self._mouse('mouseReleased', x, y, button='left', clickCount=1)
        self.settle()

    def key(self, key):
        """Presses a key. The key of a character types the character."""
        more = {'text': key} if len(key) == 1 else {'windowsVirtualKeyCode': KEY_CODES[key]}
        self.call('Input.dispatchKeyEvent', type='keyDown', key=key, **more)
        self.call('Input.dispatchKeyEvent', type='keyUp', key=key, **more)
        self.settle()

    def type(self, text):
        """Types into the element that has the focus."""
        self.call('Input.insertText', text=text)
        self.settle()

    def colors(self, scheme):
        """Sets the preferred color scheme: light or dark."""
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        self.settle()

    def screenshot(self, path):
        """Writes a screenshot as PNG."""
        data = self.call('Page.captureScreenshot', format='png')['data']
        with open(path, 'wb') as out:
            out.write(base64.b64decode(data))
