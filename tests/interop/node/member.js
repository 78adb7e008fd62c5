'use strict'
// A member of a group: reads, commits, and tells both, one event a line, see members.py.

const { PartitionAssigners } = require('kafkajs')

// What a commit meets when a rebalance was quicker: somebody reads these records again.
const OVERTAKEN = ['ILLEGAL_GENERATION', 'REBALANCE_IN_PROGRESS', 'UNKNOWN_MEMBER_ID']

function tell(say, event, more = {}) {
  say({ event, at: Math.round((performance.timeOrigin + performance.now()) * 1000), ...more })
}

// One event for each stretch of offsets without a gap.
function tellRead(say, partition, messages) {
  let first = null
  let next = null
  for (const message of messages) {
    const offset = Number(message.offset)
    if (offset !== next) {
      if (first !== null) tell(say, 'read', { partition, first, next })
      first = offset
    }
    next = offset + 1
  }
  if (first !== null) tell(say, 'read', { partition, first, next })
}

async function live(kafka, command, say, leaving) {
  const { topic } = command
  const consumer = kafka.consumer({
    groupId: command.group,
    sessionTimeout: command.session_ms,
    heartbeatInterval: 500,
    maxWaitTimeInMs: 200,
    partitionAssigners: [PartitionAssigners.roundRobin],
  })
  let mine = []
  const revoked = () => {
    if (mine.length > 0) tell(say, 'revoked', { partitions: mine })
    mine = []
  }
  const crashed = new Promise((_, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      revoked() // if it starts again, then as a new member
      payload.restart || reject(payload.error)
    })
  })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    mine = payload.memberAssignment[topic] || []
    tell(say, 'assigned', { partitions: mine })
  })
  consumer.on(consumer.events.REBALANCING, revoked)

  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: 1,
    eachBatchAutoResolve: false,
    eachBatch: async ({ batch, resolveOffset, isStale, isRunning }) => {
      if (isStale() || !isRunning()) return
      tellRead(say, batch.partition, batch.messages)
      resolveOffset(batch.lastOffset())
      await commit(consumer, topic, batch, say)
    },
  })
  await Promise.race([leaving, crashed])
  await consumer.disconnect()
  tell(say, 'left')
}

async function commit(consumer, topic, batch, say) {
  const next = Number(batch.lastOffset()) + 1
  try {
    await consumer.commitOffsets([{ topic, partition: batch.partition, offset: String(next) }])
    tell(say, 'committed', { offsets: { [batch.partition]: next } })
  } catch (error) {
    if (!OVERTAKEN.includes(error.type)) throw error
    tell(say, 'uncommitted', { message: error.type })
    throw error // kafkajs joins again when it sees it
  }
}

module.exports = { live, tell }
