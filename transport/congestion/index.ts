/** Congestion control: notification point, reaction point and what lies between them and the wire. */
export { CONGESTION_TRAFFIC_CLASS, Congestion } from './congestion.ts';
export {
  type CongestionOptions,
  type ControllerSpec,
  DEFAULT_NOTIFICATION,
  type FixedRateReaction,
  type MlxReaction,
  type NoReaction,
  type NotificationParameters,
  notificationParameters,
  type PaperReaction,
} from './congestion-options.ts';
export {
  hpccParameters,
  MLX_DEFAULTS,
  type MlxParameters,
  PAPER_DEFAULTS,
  type PaperParameters,
} from './dcqcn-parameters.ts';
export { makeController } from './make-controller.ts';
export { MarkedFlow, NotificationPoint } from './notification-point.ts';
export { Pacer } from './pacer.ts';
export type { RateController, RateState } from './rate-controller.ts';
