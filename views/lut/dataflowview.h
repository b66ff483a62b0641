// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

#include "kernels/lut/schedule.h"

#include <optional>

class QComboBox;
class QPushButton;
class QScrollArea;
class QStackedLayout;

namespace retro::views
{

class DataFlowPane;
class ElidedLabel;
class JobRunner;
class LutChoice;

/// The kernels of a LUT layer with the buffers that they read and write, drawn from its launch schedule; the kernel at
/// the cursor stands out, and a click on one goes to where it ran.
class DataFlowView final : public View
{
    Q_OBJECT

public:
    DataFlowView(RunModel& model, Cursor& cursor, Selection& selection, LutChoice& choice, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Data flow"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] bool canBeWritten() const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] DataFlowPane& pane() const { return *m_pane; }
    [[nodiscard]] QComboBox& layers() const { return *m_layers; }
    [[nodiscard]] QComboBox& paths() const { return *m_paths; }
    /// Shown while the path that is drawn did not run.
    [[nodiscard]] QPushButton& runPath() const { return *m_runPath; }

signals:
    /// A sample with a LUT layer shall be opened: this model has none.
    void sampleWanted();
    /// The person wants the layers to take this path.
    void pathWanted(retro::lut::Path path);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* makeTools();
    void takeLayer();
    void showLayers();
    void showPath();
    void wantBuffers();
    void reveal();
    [[nodiscard]] QString sentence() const;

    LutChoice& m_choice;
    DataFlowPane* m_pane = nullptr;
    QStackedLayout* m_pages = nullptr; ///< the picture, or the way to one
    QScrollArea* m_scroll = nullptr;
    QComboBox* m_layers = nullptr;
    QComboBox* m_paths = nullptr;
    QPushButton* m_runPath = nullptr;
    ElidedLabel* m_now = nullptr;
    JobRunner* m_jobs = nullptr;
    QRectF m_revealed;                    ///< the kernel that was brought into sight last
    std::optional<std::uint64_t> m_asked; ///< position of the launch whose buffers are there or being worked out
};

/// Why a LUT view has nothing to show of a run; empty when it has a layer.
[[nodiscard]] QString lutEmptyReason(const LutChoice& choice);

} // namespace retro::views
