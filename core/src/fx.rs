//! The effect buffer: what a step wants done, in order, as plain values.

/// Effects in the order in which a step emitted them. The caller owns, drains and reuses it.
#[derive(Clone, Debug)]
pub struct Fx<E> {
    list: Vec<E>,
}

impl<E> Default for Fx<E> {
    fn default() -> Self {
        Self { list: Vec::new() }
    }
}

impl<E> Fx<E> {
    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Emits one effect.
    pub fn push(&mut self, effect: impl Into<E>) {
        self.list.push(effect.into());
    }

    /// Emits several effects.
    pub fn extend(&mut self, effects: impl IntoIterator<Item = E>) {
        self.list.extend(effects);
    }

    /// Takes all effects out, keeping the buffer's memory.
    pub fn drain(&mut self) -> std::vec::Drain<'_, E> {
        self.list.drain(..)
    }

    /// Gives back the memory of a step of rare size: keeps room for that many effects.
    pub fn shrink_to(&mut self, effects: usize) {
        self.list.shrink_to(effects);
    }

    /// The effects emitted and not yet drained.
    #[must_use]
    pub fn as_slice(&self) -> &[E] {
        &self.list
    }

    /// Whether nothing waits to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
