import { access, constants, stat } from 'node:fs/promises';

/** Whether a file is there and may be run: missing, no file and not ours to run are the same for whoever looks for a program. */
export async function isProgramFile(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
