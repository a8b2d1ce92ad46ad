/** Whether the page is as narrow as a telephone, as narrow.css has it. Owns nothing else. */
import { useEffect, useState } from 'preact/hooks';

/** Follows the width of the window. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const look = (): void => setNarrow(media.matches);
    media.addEventListener('change', look);
    look();
    return () => media.removeEventListener('change', look);
  }, []);
  return narrow;
}

const NARROW = '(max-width: 700px)';
