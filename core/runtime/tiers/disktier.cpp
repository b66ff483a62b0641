// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"
#include "core/base/inputfiles.h"
#include "core/runtime/tiers/packedtensor.h"
#include "core/runtime/tiers/storagetier.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <limits>

namespace retro::runtime
{

using base::Result;
namespace fs = std::filesystem;

namespace
{

class DiskTier final : public StorageTier
{
public:
    explicit DiskTier(fs::path parent) : m_parent(std::move(parent)) {}

    ~DiskTier() override
    {
        std::error_code ignored; // nothing more can be done about it here
        if (!m_folder.empty()) {
            fs::remove_all(m_folder, ignored);
        }
    }

    DiskTier(const DiskTier&) = delete;
    DiskTier& operator=(const DiskTier&) = delete;

    Result<void> put(std::uint32_t key, const Tensor& tensor) override
    {
        RETRO_CHECK(makeOwnFolder());
        drop(key);
        const TensorForm form = formOf(tensor);
        const std::span<const std::byte> raw = bytesOf(form, tensor);
        if (const auto written = base::writeFile(pathOf(key), raw); !written) {
            return base::outputError(fmt::format("{} bytes could not be written ({}); make room, or set TMPDIR to "
                                                 "another place",
                                                 raw.size(), written.error().message),
                                     pathOf(key).string());
        }
        m_forms[key] = form;
        m_bytes += form.bytes;
        return {};
    }

    Result<Tensor> get(std::uint32_t key) override
    {
        const auto found = m_forms.find(key);
        if (found == m_forms.end()) {
            return base::inputError(fmt::format("tier disk has no {}", key));
        }
        auto storage = std::make_shared<tensor::Storage>(found->second.bytes);
        const base::OwnResultsScope own;
        RETRO_TRY(const auto file, base::FileReader::open(pathOf(key), std::numeric_limits<std::uint64_t>::max()));
        if (file.size() != found->second.bytes) {
            return base::inputError("the file of a moved tensor is no longer what was written", pathOf(key).string());
        }
        RETRO_CHECK(file.read(0, {storage->data(), static_cast<std::size_t>(found->second.bytes)}));
        return tensorOf(found->second, std::move(storage));
    }

    void drop(std::uint32_t key) override
    {
        const auto found = m_forms.find(key);
        if (found != m_forms.end()) {
            std::error_code ignored; // the folder goes with the tier
            fs::remove(pathOf(key), ignored);
            m_bytes -= found->second.bytes;
            m_forms.erase(found);
        }
    }

    [[nodiscard]] std::uint64_t bytes() const override { return m_bytes; }

private:
    [[nodiscard]] fs::path pathOf(std::uint32_t key) const { return m_folder / fmt::format("{}.bin", key); }

    Result<void> makeOwnFolder()
    {
        if (!m_folder.empty()) {
            return {};
        }
        std::error_code error;
        const fs::path parent = m_parent.empty() ? fs::temp_directory_path(error) : m_parent;
        std::string name = (parent / "retrograde-tier-XXXXXX").string();
        if (error || mkdtemp(name.data()) == nullptr) {
            return base::outputError("no folder could be made there for tier disk; set TMPDIR to another place",
                                     parent.string());
        }
        m_folder = name;
        return {};
    }

    fs::path m_parent;
    fs::path m_folder; ///< own; empty until the first tensor
    std::map<std::uint32_t, TensorForm> m_forms;
    std::atomic<std::uint64_t> m_bytes{0};
};

} // namespace

std::shared_ptr<StorageTier> diskTier(const fs::path& parent) { return std::make_shared<DiskTier>(parent); }

} // namespace retro::runtime
