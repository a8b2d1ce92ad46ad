/**
 * A component that is drawn again only when one of its properties has changed. Owns the comparison: by identity, one
 * level deep, unless told otherwise.
 */
import { Component, type ComponentType, createElement, type FunctionComponent } from 'preact';

/** Wraps `inner`; `same` says whether two sets of properties look the same. */
export function memo<Props extends object>(
  inner: FunctionComponent<Props>,
  same: (before: Props, after: Props) => boolean = sameValues,
): ComponentType<Props> {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      return !same(this.props, next);
    }

    override render() {
      return createElement(inner, this.props);
    }
  };
}

function sameValues(one: object, other: object): boolean {
  const before = new Map(Object.entries(one));
  const after = new Map(Object.entries(other));
  return [...before.keys(), ...after.keys()].every((key) => before.get(key) === after.get(key));
}
