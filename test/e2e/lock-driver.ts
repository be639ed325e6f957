// Takes a lock again and again, in a process of its own, and proves that no other process has it at the same time. While it has the lock, it creates
// a witness file with O_EXCL. If a living process already has such a file, two processes have the lock.
import fs from 'node:fs';
import { acquireLock } from '../../src/files/lock.js';

async function main(): Promise<void> {
  const [folder = '', rounds = '', holdMs = ''] = process.argv.slice(2);
  // With `endless`, the rounds use the same lock; with a number, each round uses a lock of its own.
  for (let round = 0; rounds === 'endless' || round < Number(rounds); round++) {
    const name = rounds === 'endless' ? 'endless' : String(round);
    const lock = await acquireLock(`${folder}/${name}.lock`, 60_000);
    const witness = `${folder}/${name}.witness`;
    enter(witness);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * Number(holdMs)));
    leave(witness);
    lock?.release();
    fs.writeSync(1, '+');
  }
}

function enter(witness: string): void {
  try {
    fs.writeFileSync(witness, String(process.pid), { flag: 'wx' });
  } catch {
    let owner: string;
    try {
      owner = fs.readFileSync(witness, 'utf8');
    } catch {
      overlap('the witness went away');
      return;
    }
    if (isAlive(owner)) {
      overlap(`the witness belongs to ${owner}`);
      return;
    }
    // The process may have been killed while it had the lock. No other process may touch its witness file, so this cannot fail.
    fs.unlinkSync(witness);
    fs.writeFileSync(witness, String(process.pid), { flag: 'wx' });
  }
}

function leave(witness: string): void {
  if (fs.readFileSync(witness, 'utf8') !== String(process.pid)) overlap('somebody changed the witness');
  fs.unlinkSync(witness);
}

function isAlive(pid: string): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function overlap(why: string): void {
  fs.writeSync(1, '!');
  fs.writeSync(2, `${process.pid}: ${why}\n`);
}

void main();
