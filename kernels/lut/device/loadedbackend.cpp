// SPDX-License-Identifier: Apache-2.0
// The CUDA back end as a file of its own, beside the file that this code is in: it is loaded at the first question
// about a device. Where it or the CUDA run time is missing, that is said, and all else works.
#include "kernels/lut/device/cudapasses.h"

#ifdef RETRO_LUT_CUDA_FILE

#include <dlfcn.h>

namespace retro::lut::device
{

namespace
{

struct Loaded
{
    const BackEnd* functions = nullptr;
    std::string problem;
};

Loaded load()
{
    Dl_info here{};
    const auto* own = reinterpret_cast<const void*>(&deviceProblem);
    if (dladdr(own, &here) == 0 || here.dli_fname == nullptr) {
        return {nullptr, "the folder of the CUDA back end is not known"};
    }
    const std::string file(here.dli_fname);
    const std::size_t slash = file.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash);
    void* const library = dlopen((folder + "/" RETRO_LUT_CUDA_FILE).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return {nullptr, std::string("the CUDA back end cannot be loaded: ") + dlerror() +
                             " (libcudart is part of the CUDA Toolkit and of PyPI's nvidia-cuda-runtime)"};
    }
    void* const symbol = dlsym(library, "retrogradeCudaBackEnd");
    if (symbol == nullptr) {
        return {nullptr, "the CUDA back end beside the program is of another version"};
    }
    return {reinterpret_cast<const BackEnd* (*)()>(symbol)(), {}};
}

const Loaded& loaded()
{
    static const Loaded once = load(); // it stays until the program ends
    return once;
}

} // namespace

std::string CudaPasses::make(const HostLayer& layer, std::unique_ptr<CudaPasses>& passes)
{
    return loaded().functions != nullptr ? loaded().functions->make(layer, passes) : loaded().problem;
}

std::string deviceProblem()
{
    return loaded().functions != nullptr ? loaded().functions->deviceProblem() : loaded().problem;
}

std::string deviceName() { return loaded().functions != nullptr ? loaded().functions->deviceName() : std::string(); }

std::string timeCopy(std::uint64_t bytes, int runs, double& seconds)
{
    return loaded().functions != nullptr ? loaded().functions->timeCopy(bytes, runs, seconds) : loaded().problem;
}

} // namespace retro::lut::device

#endif
