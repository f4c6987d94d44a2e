// The only file that names the peers: it stays uncompiled here, so that they resolve from bench/node_modules while the
// compiled benchmark and product resolve their own packages from the root.
export const loadPi = () => import('@mariozechner/pi-agent-core');
export const loadPiAi = () => import('@mariozechner/pi-ai');
export const loadAiSdk = () => import('ai');
export const loadFdir = () => import('fdir');
