/**
 * Light and dark: as the system has it, or as the user chose. Owns the choice, which the browser keeps where it may.
 */
import { useLayoutEffect, useState } from 'preact/hooks';

/** What can be chosen. */
export type Theme = 'auto' | 'light' | 'dark';

/** The one after. */
export function nextTheme(theme: Theme): Theme {
  return theme === 'auto' ? 'light' : theme === 'light' ? 'dark' : 'auto';
}

/** The choice, and how to change it. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(stored);
  // Before the browser paints: a button that says Dark over a page that is light is wrong for as long as it is seen.
  useLayoutEffect(() => {
    if (theme === 'auto') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
    keep(theme);
    dispatchEvent(new Event('themechange'));
  }, [theme]);
  return [theme, setTheme];
}

function stored(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === 'light' || kept === 'dark' ? kept : 'auto';
  } catch {
    // A page from a file may have no storage.
    return 'auto';
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then the choice lasts as long as the page.
  }
}

const KEY = 'rocev2-theme';
