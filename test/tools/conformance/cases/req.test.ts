/**
 * Goal: our requester keeps the rules of area REQ. Method: the cases of the area against a device of ours (support.ts).
 */
import { REQ_COMPLETION_CASES } from '../../../../tools/conformance/cases/req-completions.ts';
import { REQ_NAK_CASES } from '../../../../tools/conformance/cases/req-naks.ts';
import { REQ_TIMER_CASES } from '../../../../tools/conformance/cases/req-timers.ts';
import { describeCases } from './support.ts';

describeCases('REQ, completions', REQ_COMPLETION_CASES);
describeCases('REQ, NAKs', REQ_NAK_CASES);
describeCases('REQ, timers', REQ_TIMER_CASES);
