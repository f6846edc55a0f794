/** The parts of an image reference. For an image with a digest, the repository ends in `@sha256`. */
export interface Image {
  repository: string;
  tag: string;
}

/** Splits an image reference; null: no registry could serve it. Without a tag it is `latest`, as in a pod. */
export function parseImage(text: string): Image | null {
  const [, repository, tag = 'latest'] =
    /^([a-z0-9][a-z0-9.-]*(?::\d+(?=\/))?(?:\/[a-z0-9][a-z0-9._-]*)*(?:@sha256(?=:))?)(?::([\w][\w.-]{0,127}))?$/.exec(
      text,
    ) ?? [];
  return repository === undefined ? null : { repository, tag };
}
