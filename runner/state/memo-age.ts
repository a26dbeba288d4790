/** How exact the age of a retired memo entry is: one that is named again within this time is not written again. */
export const AGE_STEP_MS = 3_600_000;
