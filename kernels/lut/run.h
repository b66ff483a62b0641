// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/schedule.h"
#include "kernels/lut/tape.h"

#include <functional>

namespace retro::lut
{

enum class Backend { Cpu, Cuda };

/// Ok, or why a back end cannot run here (Unavailable).
Status availability(Backend backend);

/// Scratch of the documented path that is allocated without being asked for: 1 GiB.
inline constexpr std::uint64_t kScratchLimit = std::uint64_t{1} << 30;

/// What a buffer of a pass holds just now.
struct BufferData
{
    BufferId id = BufferId::Input;
    const void* data = nullptr; ///< elements as the schedule says; events as their structs (kernels/lut/events.h)
    std::uint64_t count = 0;    ///< elements that are there: of events fewer than the schedule has places
};

/// What an observer of a launch may look at: pointers live until it returns.
template <class T>
struct LaunchView
{
    const Schedule& schedule;
    std::size_t launch = 0;                      ///< its place in the schedule
    double seconds = 0;                          ///< that it took, by a clock
    std::span<const T> beforeDetectorsGradients; ///< [B, S, T, R]; empty outside the documented path's backward pass
    std::span<const BufferData> buffers;         ///< those that are there; none that was thrown away or not asked for
};

/// How a pass runs.
template <class T>
struct RunOptions
{
    Path path = Path::Fused;
    int threads = 0;                                   ///< 0 = as many as OpenMP offers; results do not depend on it
    std::uint64_t scratchLimit = kScratchLimit;        ///< of the documented path
    Memory* memory = std::pmr::get_default_resource(); ///< for arrays of the pass alone
    /// Called after each launch, in the order of the schedule.
    std::function<void(const LaunchView<T>&)> observer;
};

/// A forward pass: arrays in, arrays out.
template <class T>
struct ForwardCall
{
    std::uint64_t batch = 0;
    std::span<const T> input; ///< [B, I] or [B, S, I]
    std::span<T> output;      ///< [B, O] or [B, S, O]
    Tape<T>* tape = nullptr;  ///< filled when it is given
};

/// A step along the gradient that a backward pass takes itself, on the fused path of the CPU (policy Internal,
/// docs/lut.md, "Training"): weight −= rate · rates · gradient, after all rows were scored. There is no
/// array of gradients then.
template <class T>
struct WeightStep
{
    std::span<T> weights;     ///< the layer's, in the memory that the layer borrows or elsewhere; empty = no step
    T rate = 0;               ///< may be 0: nothing changes
    std::span<const T> rates; ///< of each weight (lr_meta of its group of synapses); empty = 1
};

/// A backward pass. Of the results, empty ones are not worked out (fused path) or thrown away (documented path).
template <class T>
struct BackwardCall
{
    std::uint64_t batch = 0;
    const Tape<T>* tape = nullptr;      ///< of the forward pass of the same layer and batch
    std::span<const T> outputGradients; ///< as output
    std::span<T> inputGradients;        ///< as input
    std::span<T> weightGradients;       ///< as the weights
    std::span<T> codeGradients;         ///< [S − 1, T, P]
    WeightStep<T> step = {};            ///< in place of weightGradients, which are empty then
};

/// Runs a layer on the CPU. Errors: BadSize (an array does not fit the layer), TooLarge (the documented path needs more
/// scratch than the limit); then nothing was launched and nothing written.
template <class T>
Status forward(const Layer<T>& layer, const ForwardCall<T>& call, const RunOptions<T>& options = {});

/// Surrogate gradients of a layer on the CPU: exact for the weights; for the inputs, through the least certain
/// comparison of each detector. Errors as of forward, and Unavailable: a step on the documented path, or of a layer
/// with rows of 16 bits.
template <class T>
Status backward(const Layer<T>& layer, const BackwardCall<T>& call, const RunOptions<T>& options = {});

extern template Status forward(const Layer<float>&, const ForwardCall<float>&, const RunOptions<float>&);
extern template Status forward(const Layer<double>&, const ForwardCall<double>&, const RunOptions<double>&);
extern template Status backward(const Layer<float>&, const BackwardCall<float>&, const RunOptions<float>&);
extern template Status backward(const Layer<double>&, const BackwardCall<double>&, const RunOptions<double>&);

} // namespace retro::lut
