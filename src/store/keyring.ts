import { createRequire } from 'node:module';

/** The password store of the operating system, for the one key of ours. */
export interface Keyring {
  /** undefined: it answers and has no entry. @throws when it cannot be reached */
  read(): string | undefined;
  /** @throws when it cannot be reached */
  write(key: string): void;
}

/** Names of the entry (mcp-host 10.5). */
const service = 'vibe';
const account = 'secrets';

interface Entry {
  getPassword(): string | null;
  setPassword(password: string): void;
  deletePassword(): boolean;
}

/**
 * Opens the keyring, loading the package for it.
 * @throws when there is none: no package for this machine, or no service that answers
 */
export function openKeyring(): Keyring {
  // why: an optional package, native, and loaded only where secrets are used
  const { Entry }: { readonly Entry: new (service: string, account: string, options: object) => Entry } = createRequire(
    import.meta.url,
  )('@napi-rs/keyring');
  // why: the kernel's own keyring, which the package would fall back to, forgets everything at the next start
  const options = { linux: { store: 'secret-service' } };
  // why: reading from a service that is not there gives nothing instead of an error; writing tells
  const probe = new Entry(service, 'probe', options);
  probe.setPassword('probe');
  probe.deletePassword();
  const entry = new Entry(service, account, options);
  return {
    read: () => entry.getPassword() ?? undefined,
    write: (key) => entry.setPassword(key),
  };
}
