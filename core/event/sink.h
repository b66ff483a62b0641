// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"
#include "core/tensor/tensor.h"

namespace retro::event
{

/// Where a run sends what happens. Calls come from the thread that runs; order is the order of the run.
class Sink
{
public:
    virtual ~Sink() = default;
    /// A state change. Its StepId is the number of events before it.
    virtual void onEvent(const Event& event) = 0;
    /// A ledger row; rows are numbered from 0 in order of arrival (Event::extra of Rule events).
    virtual void onLedger(const LedgerEntry& entry) = 0;
    /// A handle was given a tensor. Comes before the first event that names the handle. Sinks that keep nothing ignore
    /// it.
    virtual void onTensor(HandleId handle, const tensor::Tensor& tensor) = 0;
};

/// Ignores everything: for runs without recording.
class NullSink final : public Sink
{
public:
    void onEvent(const Event&) override {}
    void onLedger(const LedgerEntry&) override {}
    void onTensor(HandleId, const tensor::Tensor&) override {}
};

} // namespace retro::event
