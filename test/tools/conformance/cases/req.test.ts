/**
 * Goal: our requester keeps the rules of area REQ. Method: the cases of the area against a device of ours (support.ts).
 */
import { REQ_CASES } from '../../../../tools/conformance/cases/req.ts';
import { REQ_PROGRESS_CASES } from '../../../../tools/conformance/cases/req-progress.ts';
import { describeCases } from './support.ts';

describeCases('REQ', REQ_CASES);
describeCases('REQ, progress', REQ_PROGRESS_CASES);
