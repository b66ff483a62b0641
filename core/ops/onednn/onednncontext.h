// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace retro::ops::onednn
{

inline constexpr auto kFloat = dnnl::memory::data_type::f32;

/// The processor as oneDNN sees it; one for the whole program.
[[nodiscard]] const dnnl::engine& engine();
/// The calling thread's stream. Also hands OpenMP the number of threads in force.
[[nodiscard]] dnnl::stream& stream();
/// Whether the library computes with registers of 512 bits here; what it does well and badly differs without them.
[[nodiscard]] bool hasWideRegisters();
/// A view of memory that the library only reads.
[[nodiscard]] inline dnnl::memory readOnly(const dnnl::memory::desc& desc, const void* data)
{
    return {desc, engine(), const_cast<void*>(data)}; // the interface has no const, arguments read are not written
}

} // namespace retro::ops::onednn
