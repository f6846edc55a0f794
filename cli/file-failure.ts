const MESSAGES: Readonly<Record<string, string>> = {
  EEXIST: 'a parent path is not a directory',
  ENOTDIR: 'a parent path is not a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ELOOP: 'symbolic link loop',
};

/** Describes a system error about a file. @param specific messages by error code that replace the general ones */
export function fileFailure(error: unknown, specific: Readonly<Record<string, string>>): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
  return specific[code] ?? MESSAGES[code] ?? code;
}
