/**
 * Goal: our own stack keeps the rules of area PKT. Method: support.ts.
 */

import { MIGRATION_CASES } from '../../../../tools/conformance/cases/migration.ts';
import { PKT_CASES } from '../../../../tools/conformance/cases/pkt.ts';
import { describeCases } from './support.ts';

describeCases('PKT', PKT_CASES);
describeCases('PKT, path migration', MIGRATION_CASES);
