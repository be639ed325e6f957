// Computes which pair of base URLs a call uses and which pair each credential belongs to, from the text of the contract (section 3, "One place" and
// "Binding"). This is a second implementation, so nothing of src/ is imported.

export interface Addresses {
  host?: string;
  restPort?: string;
  gsqlPort?: string;
  restUrl?: string;
  gsqlUrl?: string;
}

export interface Pair {
  readonly gsqlUrl: string;
  readonly restUrl: string;
}

/**
 * Returns the pair that the addresses of these levels lead to; undefined if they contradict each other. The levels are ordered by priority, highest
 * first. Between a URL and the host and port that it replaces, the higher level decides, and within a level the URL.
 */
export function pairOf(levels: readonly Addresses[], is4: boolean): Pair | undefined {
  const set = (key: keyof Addresses) => {
    const level = levels.findIndex((one) => one[key] !== undefined);
    return { level: level === -1 ? levels.length : level, value: levels[level]?.[key] };
  };
  const [host, gsqlPort, restPort] = [set('host'), set('gsqlPort'), set('restPort')];
  const [gsqlUrl, restUrl] = [set('gsqlUrl'), set('restUrl')];
  const byUrl = gsqlUrl.value !== undefined && gsqlUrl.level <= Math.min(host.level, gsqlPort.level);
  const service = byUrl
    ? String(gsqlUrl.value)
    : `${host.value ?? 'http://127.0.0.1'}:${gsqlPort.value ?? '14240'}`;
  if (restUrl.value !== undefined && restUrl.level <= Math.min(host.level, restPort.level))
    return { gsqlUrl: service, restUrl: restUrl.value };
  const at = new URL(service);
  const atOneLevel = byUrl && host.value !== undefined && host.level === gsqlUrl.level;
  if (atOneLevel && new URL(String(host.value)).hostname !== at.hostname) return undefined;
  const wanted = restPort.value ?? '9000';
  const behindService = wanted === at.port || (is4 && restPort.value === undefined);
  return {
    gsqlUrl: service,
    restUrl: behindService ? `${service}/restpp` : `${at.protocol}//${at.hostname}:${wanted}`,
  };
}

/** What is set for one call, drawn at random. */
export interface Scene {
  readonly is4: boolean;
  readonly flag: Addresses;
  readonly variable: Addresses;
  readonly tgVariable: Addresses;
  readonly profile: Addresses;
  readonly fileDefaults: Addresses;
  readonly profileTyped: boolean;
  /** `--config none` ignores the attacker's file. Without it, the file stops every command except `doctor`. */
  readonly planted: 'no' | 'yes' | 'left out';
  readonly command: string;
}

export type Owner = 'in force' | 'TG' | 'file' | 'nobody' | Pair;

/** Returns the pairs that the call may use; empty if it has to end before anything is sent. */
export function pairsInForce(scene: Scene): Pair[] {
  const { is4, flag, variable, tgVariable, profile, fileDefaults, profileTyped } = scene;
  // `login` reads no project file, and doctor goes on without it.
  if (scene.planted === 'yes' && !['doctor', 'login'].includes(scene.command)) return [];
  const near = [flag, variable, ...(profileTyped ? [] : [tgVariable])];
  const all = pairOf([...near, profile, fileDefaults], is4);
  // For `login`, a new address replaces the whole old one.
  const isNew = scene.command === 'login' && near.some((level) => Object.keys(level).length > 0);
  const found = isNew ? [all, pairOf(near, is4)] : [all];
  return found.filter((pair) => pair !== undefined);
}

/** Returns the pairs to which a credential may be sent in this call. */
export function allowedPairs(scene: Scene, owner: Owner): Pair[] {
  const inForce = pairsInForce(scene);
  const { is4, tgVariable, profile, fileDefaults } = scene;
  const only = (own: Pair | undefined) =>
    inForce.filter((pair) => pair.gsqlUrl === own?.gsqlUrl && pair.restUrl === own.restUrl);
  if (owner === 'nobody') return [];
  if (owner === 'in force') return inForce;
  if (owner === 'file') return only(pairOf([profile, fileDefaults], is4));
  if (owner !== 'TG') return only(owner);
  if (scene.profileTyped) return [];
  return Object.keys(tgVariable).length === 0 ? inForce : only(pairOf([tgVariable], is4));
}
