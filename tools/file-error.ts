/** What the errors of the system about files say to a person. */

/** The message of an error, in words where Node's would only name a call on a folder. */
export function fileErrorText(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EISDIR' ? 'this is a folder, and a file is needed' : error.message;
}
