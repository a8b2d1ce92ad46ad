/**
 * A menu where one has pressed the right mouse button, or the menu key: on a field, on a packet.
 *
 * Owns where it stands, its keys, and that the focus goes back. What is in it is made when it opens.
 */
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** A line of a menu. */
export interface MenuItem {
  readonly words: string;
  readonly run: () => void;
}

/** What opens a menu at an event; `items` may take a while. */
export type OpenMenu = (event: MouseEvent | KeyboardEvent, items: Promise<readonly MenuItem[]>) => void;

interface MenuState {
  readonly left: number;
  readonly top: number;
  readonly items: readonly MenuItem[];
  readonly before: Element | null;
}

/** The menu, to be put anywhere, and what opens it. */
export function useMenu(): [preact.ComponentChildren, OpenMenu] {
  const [menu, setMenu] = useState<MenuState>();
  const asked = useRef(0);
  const open = useCallback<OpenMenu>((event, items) => {
    event.preventDefault();
    event.stopPropagation();
    const own = ++asked.current;
    const at = placeOf(event);
    const before = document.activeElement;
    items.then(
      (made) => asked.current === own && made.length > 0 && setMenu({ ...at, items: made, before }),
      () => undefined,
    );
  }, []);
  const close = useCallback((back: boolean) => {
    setMenu((shown) => {
      if (back && shown?.before instanceof HTMLElement) shown.before.focus();
      return undefined;
    });
  }, []);
  return [menu === undefined ? null : <Menu key={asked.current} {...menu} onClose={close} />, open];
}

/** Whether a key asks for the menu of what has the focus. */
export function isMenuKey({ key, shiftKey }: KeyboardEvent): boolean {
  return key === 'ContextMenu' || (key === 'F10' && shiftKey);
}

function Menu({ left, top, items, onClose }: MenuState & { readonly onClose: (back: boolean) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ left, top });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const { width, height } = element.getBoundingClientRect();
    setPlace({
      left: Math.max(EDGE, Math.min(left, innerWidth - width - EDGE)),
      top: Math.max(EDGE, Math.min(top, innerHeight - height - EDGE)),
    });
    element.querySelector('button')?.focus();
    const elsewhere = (event: Event): void => {
      if (!(event.target instanceof Node) || !element.contains(event.target)) onClose(false);
    };
    addEventListener('pointerdown', elsewhere);
    addEventListener('resize', elsewhere);
    return () => {
      removeEventListener('pointerdown', elsewhere);
      removeEventListener('resize', elsewhere);
    };
  }, [left, top, onClose]);
  const step = (by: number): void => {
    const buttons: Element[] = [...(box.current?.querySelectorAll('button') ?? [])];
    const at = document.activeElement === null ? -1 : buttons.indexOf(document.activeElement);
    const next = buttons[(at + by + buttons.length) % buttons.length];
    if (next instanceof HTMLElement) next.focus();
  };
  return (
    <div
      class="menu"
      role="menu"
      tabIndex={-1}
      aria-label="What to do with it"
      ref={box}
      style={{ left: `${place.left}px`, top: `${place.top}px` }}
      onContextMenu={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'ArrowDown') step(1);
        else if (event.key === 'ArrowUp') step(-1);
        else if (event.key === 'Escape' || event.key === 'Tab') onClose(true);
        else return;
        event.preventDefault();
      }}
    >
      {items.map(({ words, run }) => (
        <button
          type="button"
          role="menuitem"
          key={words}
          onClick={() => {
            onClose(true);
            run();
          }}
        >
          {words}
        </button>
      ))}
    </div>
  );
}

function placeOf(event: MouseEvent | KeyboardEvent): { left: number; top: number } {
  if (event instanceof MouseEvent && (event.clientX > 0 || event.clientY > 0))
    return { left: event.clientX, top: event.clientY };
  const target = event.target instanceof Element ? event.target : document.body;
  const { left, bottom } = target.getBoundingClientRect();
  return { left: left + EDGE, top: bottom };
}

const EDGE = 8;
