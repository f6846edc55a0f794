import { writeFileSync } from 'node:fs';

/** In a Kubernetes pod, the text of this file becomes the termination message of the container. */
const TERMINATION_LOG = '/dev/termination-log';
/** Half of what the kubelet keeps of one container. */
const LONGEST_BYTES = 2_048;

/** A start that fails because of an input that a person has to correct. */
export class StartProblem extends Error {
  readonly exitCode: number;
  /** For the person who corrects the input: what is wrong, where, and what to do; lines without log fields. */
  readonly explanation: string;

  constructor(message: string, { exitCode, explanation }: { exitCode: number; explanation: string }) {
    super(message);
    this.exitCode = exitCode;
    this.explanation = explanation;
  }
}

/** Writes the termination message of this container. Does nothing outside a pod, where the file does not exist. */
export function writeTerminationMessage(text: string, file = TERMINATION_LOG): void {
  try {
    // Without the flag, the process would create the file on a machine without a kubelet.
    writeFileSync(file, Buffer.from(text).subarray(0, LONGEST_BYTES), {
      flag: 'r+',
    });
  } catch {
    // The kubelet then takes the last lines of the log.
  }
}
