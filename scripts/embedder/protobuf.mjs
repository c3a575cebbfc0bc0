// The part of protobuf's wire format that writes a message: every field is a buffer, a message is their concatenation.

const wireTypes = { varint: 0, bytes: 2, fixed32: 5 };

export function integerField(number, value) {
  return Buffer.concat([tag(number, wireTypes.varint), varint(value)]);
}

export function floatField(number, value) {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([tag(number, wireTypes.fixed32), bytes]);
}

export function textField(number, text) {
  return bytesField(number, Buffer.from(text, 'utf8'));
}

export function bytesField(number, bytes) {
  return Buffer.concat([tag(number, wireTypes.bytes), varint(bytes.length), bytes]);
}

/** A message inside a message. */
export function messageField(number, fields) {
  return bytesField(number, Buffer.concat(fields));
}

function tag(number, wireType) {
  return varint((number << 3) | wireType);
}

/** Seven bits a byte, lowest first. Negative numbers are written as 64 bits, as protobuf has it. */
function varint(value) {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes = [];
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Buffer.from(bytes);
}
