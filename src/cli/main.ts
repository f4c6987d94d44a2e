#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { openProcessIo } from './io.ts';
import { runCommandLine } from './program.ts';

const manifest = new URL('../../package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };

// why `exitCode` and no `exit`: output that is still on its way to a pipe would be cut
process.exitCode = await runCommandLine(process.argv.slice(2), openProcessIo(), version);
