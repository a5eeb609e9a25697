/** Counters and gauges of one service in the OpenMetrics text format. Never a cluster's name as a label. */
export interface Metrics {
  count(name: string, labels?: Readonly<Record<string, string>>): void;
  gauge(name: string, value: number, labels?: Readonly<Record<string, string>>): void;
  value(name: string, labels?: Readonly<Record<string, string>>): number;
  render(): string;
}

/** @param help - every metric there is, with what it says; an unlisted name is refused, so that none goes undocumented */
export function createMetrics<const Names extends Readonly<Record<string, string>>>(help: Names): Metrics {
  const values = new Map<string, number>();
  const keyOf = (name: string, labels: Readonly<Record<string, string>> = {}) => {
    if (!Object.hasOwn(help, name)) throw new TypeError(`metric ${name} is not in the list`);
    const text = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
    return text.length > 0 ? `${name}{${text.join(',')}}` : name;
  };
  return {
    count: (name, labels) => {
      const key = keyOf(name, labels);
      values.set(key, (values.get(key) ?? 0) + 1);
    },
    gauge: (name, value, labels) => void values.set(keyOf(name, labels), value),
    value: (name, labels) => values.get(keyOf(name, labels)) ?? 0,
    render() {
      let text = '';
      for (const [name, what] of Object.entries(help)) {
        text += `# HELP ${name} ${what}\n# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}\n`;
        for (const [key, value] of values)
          if (key === name || key.startsWith(`${name}{`)) text += `${key} ${value}\n`;
      }
      return `${text}# EOF\n`;
    },
  };
}
