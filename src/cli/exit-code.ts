/** Above 128: of an end by a signal, as shells count. */
export type ExitCode = 0 | 1 | 2 | 129 | 130 | 143;
