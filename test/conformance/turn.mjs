// What the suite starts for a scenario: waits for its turn, then becomes the client program. The suite starts all scenarios
// at the same time, and on a few cores that many programs starve each other until the suite's servers hang up.
import { once } from 'node:events';
import { connect } from 'node:net';
import { register } from 'tsx/esm/api';

const turns = connect(Number(process.env['CONFORMANCE_TURNS']), '127.0.0.1');
await once(turns, 'data');
// the turn ends with the process, and does not keep it alive
turns.unref();
register();
await import('./client.ts');
