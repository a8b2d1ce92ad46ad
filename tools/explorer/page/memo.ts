/** A component that is drawn again only when one of its properties has changed. Owns the comparison: by identity, one level deep. */
import { Component, type ComponentType, createElement, type FunctionComponent } from 'preact';

/** Wraps `Inner`. */
export function memo<Props extends object>(inner: FunctionComponent<Props>): ComponentType<Props> {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const before = new Map(Object.entries(this.props));
      const after = new Map(Object.entries(next));
      return [...before.keys(), ...after.keys()].some((key) => before.get(key) !== after.get(key));
    }

    override render() {
      return createElement(inner, this.props);
    }
  };
}
