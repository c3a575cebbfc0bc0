/**
 * 7-bit weights, one scale per column. With all 8 bits the products of two neighbours overflow the 16 bits that
 * processors without VNNI add them up in, and results differ from machine to machine (lowest cosine to the original
 * .916); with 7 bits nothing overflows (.9976).
 */
const highest = 63;

export function quantiseColumns({ values, shape: [rows, columns] }) {
  const quantised = new Int8Array(rows * columns);
  const scales = new Float32Array(columns);
  for (let column = 0; column < columns; column += 1) {
    let largest = 1e-9;
    for (let row = 0; row < rows; row += 1) {
      largest = Math.max(largest, Math.abs(values[row * columns + column]));
    }
    scales[column] = largest / highest;
    for (let row = 0; row < rows; row += 1) {
      const at = row * columns + column;
      quantised[at] = Math.round(values[at] / scales[column]);
    }
  }
  return { quantised, scales };
}

/** What two neighbours of a column may add up to: 255 times as much still fits into 16 bits. */
const highestPair = 128;

/**
 * 8-bit weights of which no two neighbours overflow: processors without VNNI add the products of the rows 2n and 2n + 1
 * in 16 bits, and it is their sum that matters. Large weights are rare, so the steps are about a third finer than those
 * of 7 bits.
 */
export function quantisePairs({ values, shape: [rows, columns] }) {
  const quantised = new Int8Array(rows * columns);
  const scales = new Float32Array(columns);
  const at = (row, column) => row * columns + column;
  for (let column = 0; column < columns; column += 1) {
    let largest = 1e-9;
    for (let row = 0; row < rows; row += 2) {
      const pair = Math.abs(values[at(row, column)]) + Math.abs(values[at(row + 1, column)]);
      largest = Math.max(largest, pair);
    }
    // Rounding may add half a step to each.
    scales[column] = largest / (highestPair - 1);
    for (let row = 0; row < rows; row += 1) {
      quantised[at(row, column)] = Math.round(values[at(row, column)] / scales[column]);
    }
    for (let row = 0; row < rows; row += 2) {
      const pair = Math.abs(quantised[at(row, column)]) + Math.abs(quantised[at(row + 1, column)]);
      if (pair > highestPair)
        throw new Error(`Rows ${row} and ${row + 1} of column ${column} could overflow`);
    }
  }
  return { quantised, scales };
}
