import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

/** One accent, a deep teal; every other colour on screen is a grey or means a state. */
const teal: MantineColorsTuple = [
  '#f0fdfa',
  '#d5f5ef',
  '#a7e9de',
  '#6fd6c7',
  '#3fbdad',
  '#1f9f91',
  '#14857a',
  '#0f766e',
  '#0c5f59',
  '#0a4b47',
];

/** The red of failures; Mantine's own is too pale for words on white (3.9 : 1; this is 6.4 : 1). */
const red: MantineColorsTuple = [
  '#fdeaea',
  '#fad4d4',
  '#f5a9a9',
  '#f08080',
  '#ea6464',
  '#dc4c4c',
  '#c93a3a',
  '#b42525',
  '#8f1d1d',
  '#6e1616',
];

/** Greys with a little of the accent's blue, from text to ground; Mantine paints the dark scheme with them. */
const dark: MantineColorsTuple = [
  '#dfe4e8',
  '#b8c0c7',
  '#98a1aa',
  '#6c7780',
  '#414b53',
  '#2d353b',
  '#22282d',
  '#1b2024',
  '#14181b',
  '#0e1113',
];

export const theme = createTheme({
  respectReducedMotion: true,
  colors: { teal, red, dark },
  primaryColor: 'teal',
  primaryShade: { light: 7, dark: 6 },
  defaultRadius: 6,
  fontFamily: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '19px' },
  spacing: { xs: '8px', sm: '12px', md: '16px', lg: '20px', xl: '28px' },
  lineHeights: { xs: '1.35', sm: '1.4', md: '1.45', lg: '1.5', xl: '1.5' },
  headings: { fontWeight: '600', sizes: { h1: { fontSize: '19px' }, h2: { fontSize: '15px' } } },
  cursorType: 'pointer',
  components: {
    Button: { defaultProps: { size: 'xs' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Select: { defaultProps: { size: 'sm', allowDeselect: false } },
    Paper: { defaultProps: { shadow: undefined } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
    Drawer: { defaultProps: { padding: 'md' } },
    Modal: { defaultProps: { centered: true, padding: 'md' } },
    // Of dialogs and notices: Mantine's own is a cross without a word.
    CloseButton: { defaultProps: { 'aria-label': 'Close' } },
  },
});

/** Mantine's own quiet grey is too faint to read by WCAG AA (3.3 : 1 on white; this is 5.7 : 1). */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5b6570',
    '--mantine-color-placeholder': '#69737d',
    '--mantine-color-error': 'var(--failed)',
  },
  dark: {
    '--mantine-color-dimmed': '#a5aeb7',
    '--mantine-color-placeholder': '#98a1aa',
    // Of fields that were refused; the red of buttons is too dark to be read on a dark ground.
    '--mantine-color-error': 'var(--failed)',
  },
});

export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
}
