// client.js: asks the worker. A question replaces a waiting one with the same key.
export class Stale extends Error {}

export class Client {
  constructor() {
    this.files = [];  // [path, file], to give them again to a restarted worker
    this.waiting = [];
    this.next = 1;
    this.start();
  }

  start() {
    this.busy = null;
    this.worker = new Worker(new URL('./worker.js', import.meta.url), {type: 'module'});
    this.worker.onmessage = ({data}) => this.take(data);
    this.worker.onerror = (event) => this.take({problem: event.message || 'the worker failed'});
  }

  // A module that ran out of memory cannot be used again.
  restart() {
    this.worker.terminate();
    this.start();
    const waiting = this.waiting;
    this.waiting = [];
    for (const [task, message] of this.files) this.send({task, ...message}).catch(() => {});
    this.waiting.push(...waiting);
  }

  take({answer, problem, ms}) {
    const done = this.busy;
    this.busy = null;
    if (!done) return;
    if (problem)
      done.reject(new Error(problem));
    else
      done.resolve(answer && typeof answer === 'object' ? {...answer, ms} : answer);
    if (answer && answer.isLost) this.restart();
    this.go();
  }

  send(message, key) {
    return new Promise((resolve, reject) => {
      if (key) {
        for (const old of this.waiting.filter((w) => w.key === key)) old.reject(new Stale('a newer question'));
        this.waiting = this.waiting.filter((w) => w.key !== key);
      }
      this.waiting.push({message, key, resolve, reject});
      this.go();
    });
  }

  go() {
    if (this.busy || !this.waiting.length) return;
    this.busy = this.waiting.shift();
    this.worker.postMessage({id: this.next++, ...this.busy.message});
  }

  ask(args, key) { return this.send({task: 'ask', args}, key); }

  mount(path, file) {
    this.files.push(['mount', {path, file}]);
    return this.send({task: 'mount', path, file});
  }

  write(path, text) {
    this.files.push(['write', {path, text}]);
    return this.send({task: 'write', path, text});
  }

  remove(path) {
    this.files = this.files.filter(([, message]) => message.path !== path && !message.path.startsWith(`${path}/`));
    return this.send({task: 'remove', path});
  }
}
