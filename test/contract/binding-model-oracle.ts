// Computes which pair of base URLs a call uses and which pair each credential belongs to, from the text of the contract (section 3, "One layer names
// the database" and "Binding"). This is a second implementation, so nothing of src/ is imported.

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

/** What a layer names: the REST server may be open until the version is known. */
interface Named {
  readonly gsqlUrl: string;
  readonly restUrls: readonly string[];
}

/** Returns what these addresses of one layer name; undefined if they contradict each other. */
function named({ host, gsqlUrl, gsqlPort, restUrl, restPort }: Addresses): Named | undefined {
  if (restUrl !== undefined && host === undefined && gsqlUrl === undefined) return undefined;
  if (host && gsqlUrl && new URL(host).hostname !== new URL(gsqlUrl).hostname) return undefined;
  const service = gsqlUrl ?? `${host ?? 'http://127.0.0.1'}:${gsqlPort ?? '14240'}`;
  if (restUrl !== undefined) return { gsqlUrl: service, restUrls: [restUrl] };
  const at = new URL(service);
  const [behind, beside] = [`${service}/restpp`, `${at.protocol}//${at.hostname}:${restPort ?? '9000'}`];
  if (restPort === undefined) return { gsqlUrl: service, restUrls: [beside, behind] };
  return { gsqlUrl: service, restUrls: [restPort === at.port ? behind : beside] };
}

/** Returns the pair that the addresses of one layer lead to on a server of this generation. */
export function pairOf(layer: Addresses, is4: boolean): Pair | undefined {
  const found = named(layer);
  const restUrl = found?.restUrls[is4 ? found.restUrls.length - 1 : 0];
  return found && restUrl ? { gsqlUrl: found.gsqlUrl, restUrl } : undefined;
}

/** Whether two layers name the same pair, where a REST server that is not set equals both that can follow. */
function isSame(a: Named | undefined, b: Named | undefined): boolean {
  if (a === undefined || b === undefined || a.gsqlUrl !== b.gsqlUrl) return false;
  return a.restUrls.some((url) => b.restUrls.includes(url));
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

/** A credential belongs to its layer, to the pair of its record, or, when it was made in the call, to the pair in force. */
export type Owner = 'flag' | 'variable' | 'TG' | 'file' | 'top of file' | 'in force' | 'nobody' | Pair;

const isSet = (layer: Addresses) => Object.keys(layer).length > 0;
const namesServer = ({ host, gsqlUrl, restUrl }: Addresses) => (host ?? gsqlUrl ?? restUrl) !== undefined;

/** The profile over the top level; a profile that names servers replaces those of the top level. */
function fileOf({ profile, fileDefaults }: Scene): Addresses {
  const { gsqlPort, restPort } = fileDefaults;
  const ports = { ...(gsqlPort && { gsqlPort }), ...(restPort && { restPort }) };
  return { ...(namesServer(profile) ? ports : fileDefaults), ...profile };
}

function layersOf(scene: Scene): Addresses[] {
  const { flag, variable, tgVariable, profileTyped } = scene;
  return [flag, variable, profileTyped ? {} : tgVariable, fileOf(scene)];
}

function chosen(scene: Scene): Addresses {
  return layersOf(scene).find(isSet) ?? {};
}

/** Returns the pair that the call may use; undefined if it has to end before anything is sent. */
export function pairInForce(scene: Scene): Pair | undefined {
  // `login` reads no project file, and doctor goes on without it.
  if (scene.planted === 'yes' && !['doctor', 'login'].includes(scene.command)) return undefined;
  const [layer, layers, file] = [chosen(scene), layersOf(scene), fileOf(scene)];
  const lower = layers.slice(layers.indexOf(layer) + 1);
  if (!namesServer(layer) && lower.some(namesServer)) return undefined;
  const isLeftOut = isSet(file) && !isSame(named(file), named(layer));
  if (scene.profileTyped && isLeftOut && scene.command !== 'login') return undefined;
  return pairOf(layer, scene.is4);
}

/** Returns the pair to which a credential may be sent in this call, if it may be sent at all. */
export function allowedPair(scene: Scene, owner: Owner): Pair | undefined {
  const inForce = pairInForce(scene);
  if (inForce === undefined || owner === 'nobody') return undefined;
  if (owner === 'in force') return inForce;
  if (typeof owner === 'object')
    return owner.gsqlUrl === inForce.gsqlUrl && owner.restUrl === inForce.restUrl ? inForce : undefined;
  if (owner === 'TG' && scene.profileTyped) return undefined;
  const [flag = {}, variable = {}, tgVariable = {}, file = {}] = layersOf(scene);
  const { fileDefaults } = scene;
  // What the top level names is for that, also where the profile names others.
  const top = namesServer(fileDefaults) ? fileDefaults : file;
  const own = { flag, variable, TG: tgVariable, file, 'top of file': top }[owner];
  // A file without an address is for this machine's own database, and any other layer for the pair in force.
  const isOfFile = owner === 'file' || owner === 'top of file';
  const counts = isSet(own) || isOfFile ? isSame(named(own), named(chosen(scene))) : true;
  return counts ? inForce : undefined;
}
