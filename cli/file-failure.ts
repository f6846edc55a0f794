const WORDS: Readonly<Record<string, string>> = {
  EEXIST: 'a part of its path is no folder',
  ENOTDIR: 'a part of its path is no folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'its file system is read-only',
  ENOSPC: 'the disk is full',
  ELOOP: 'its symbolic links lead in a circle',
};

/** A system's error about a file in words. @param words by code, where more can be said than of any file */
export function fileFailure(error: unknown, words: Readonly<Record<string, string>>): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
  return words[code] ?? WORDS[code] ?? code;
}
