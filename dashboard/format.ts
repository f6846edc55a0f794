/** Shown instead of a value that was never reported. */
export const NO_VALUE = '–';

type Value = number | null | undefined;
type IsoTime = string | null | undefined;

type Unit = readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number];

const SECOND: Unit = ['second', 1];
const UNITS: readonly Unit[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** Formats of a locale and a time zone; undefined: those of the browser. Formatters are created once, because that is slow. */
export function formatsFor(locale?: string, timeZone?: string) {
  const number = new Intl.NumberFormat(locale);
  const tick = new Intl.NumberFormat(locale, { notation: 'compact', maximumSignificantDigits: 3 });
  const usd = currency(locale, 2);
  const cents = currency(locale, 4);
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
  const time = new Intl.DateTimeFormat(locale, {
    ...TIME_FIELDS,
    ...(timeZone !== undefined && { timeZone }),
  });
  const age = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
  const numberWith = (format: Intl.NumberFormat) => (value: Value) =>
    isNumber(value) ? format.format(value) : NO_VALUE;
  return {
    /** 12,345 */
    formatNumber: numberWith(number),
    /** For axes: three digits, 1.25K or 0.0004. */
    formatTick: numberWith(tick),
    /** A share from 0 to 1: 12.5% */
    formatPercent: numberWith(percent),
    /** $0.42; amounts below one dollar have four digits. */
    formatUsd: (value: Value) =>
      isNumber(value) ? (Math.abs(value) < 1 ? cents : usd).format(value) : NO_VALUE,
    /** Local date and time with the zone, in 24 hours. */
    formatTime: (iso: IsoTime) => whenValid(iso, (ms) => time.format(ms)),
    /** The time before `now`: 2 min. ago */
    formatAge: (iso: IsoTime, now: Date) =>
      whenValid(iso, (ms) => {
        // The clocks of server and browser differ: a time in the future is now.
        const seconds = Math.max(0, Math.round((now.getTime() - ms) / 1000));
        const [unit, length] = UNITS.find((each) => seconds >= each[1]) ?? SECOND;
        // Not the negative number, because the negative zero may have another text.
        return age.format(0 - Math.floor(seconds / length), unit);
      }),
  };
}

const TIME_FIELDS: Intl.DateTimeFormatOptions = {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'short',
};

const currency = (locale: string | undefined, maximumFractionDigits: number): Intl.NumberFormat =>
  new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: 2,
    maximumFractionDigits,
  });

const isNumber = (value: Value): value is number => typeof value === 'number' && Number.isFinite(value);

function whenValid(iso: IsoTime, format: (ms: number) => string): string {
  const ms = Date.parse(iso ?? '');
  return Number.isNaN(ms) ? NO_VALUE : format(ms);
}

export const { formatNumber, formatTick, formatUsd, formatPercent, formatTime, formatAge } = formatsFor();

const ISO_TIME = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g;

/** A text of the server with its times as local ones. */
export const withLocalTimes = (text: string, format: typeof formatTime = formatTime): string =>
  text.replaceAll(ISO_TIME, (iso) => format(iso));

/** `1 agent`, `1,200 agents`; `many`: the plural, if it is not the noun with an s. */
export const countText = (count: number, noun: string, many = `${noun}s`): string =>
  count === 1 ? `1 ${noun}` : `${formatNumber(count)} ${many}`;
