'use strict'
// kafkajs brings gzip alone; the other codecs are told to it.

const { CompressionTypes, CompressionCodecs } = require('kafkajs')
const snappy = require('kafkajs-snappy')
const lz4 = require('lz4-napi')
const { ZstdCodec } = require('zstd-codec')

const zstd = new Promise(resolve => ZstdCodec.run(codec => resolve(new codec.Streaming())))

CompressionCodecs[CompressionTypes.Snappy] = snappy

CompressionCodecs[CompressionTypes.LZ4] = () => ({
  async compress(encoder) {
    return lz4.compressFrame(encoder.buffer) // in frames of independent blocks: brokers take no others
  },
  async decompress(buffer) {
    return lz4.decompressFrame(buffer)
  },
})

CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  async compress(encoder) {
    return Buffer.from((await zstd).compress(encoder.buffer))
  },
  async decompress(buffer) {
    return Buffer.from((await zstd).decompress(buffer))
  },
})

const NAMES = { none: 'None', gzip: 'GZIP', snappy: 'Snappy', lz4: 'LZ4', zstd: 'ZSTD' }

module.exports = name => CompressionTypes[NAMES[name || 'none']]
