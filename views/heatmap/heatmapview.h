// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/heatmap/heatmapsource.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;

namespace retro::views
{

class ElidedLabel;
class HeatmapCanvas;

/// The relevance of the selected value at the cursor as a heatmap over the input picture; with nothing selected, of the
/// layer that arrived last.
class HeatmapView final : public View
{
    Q_OBJECT

public:
    HeatmapView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override;
    [[nodiscard]] QString subject() const override { return m_content.place; }
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] QStringList exportFormats() const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    /// The relevance as grey levels of 16 bits (views::writeLevels). Errors: Usage (ending, nothing to show), Output.
    [[nodiscard]] base::Result<void> exportLevels(const std::filesystem::path& path) const;
    [[nodiscard]] QByteArray saveState() const override;
    void restoreState(const QByteArray& state) override;

    [[nodiscard]] const HeatmapContent& content() const { return m_content; }
    [[nodiscard]] const HeatmapSettings& settings() const { return m_settings; }
    void setSettings(const HeatmapSettings& settings);
    /// Words of the steps; empty = they have numbers.
    [[nodiscard]] const QStringList& stepWords() const { return model().input().words; }

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override { return m_content.reason; }

private:
    QWidget* makeControls(QWidget* parent);
    QWidget* makeStops(QWidget* parent);
    void chooseMap();
    void readMap();
    void readControls();
    void showControls();
    [[nodiscard]] HeatmapFigure figureOf() const;
    void drawContent();
    void showProbe(QPoint value);

    HeatmapSettings m_settings;
    HeatmapContent m_content;
    QString m_modelName; ///< whose scale is kept
    HeatmapCanvas* m_canvas = nullptr;
    QComboBox* m_mode = nullptr;
    QComboBox* m_map = nullptr;
    QComboBox* m_clip = nullptr;
    QLineEdit* m_stops = nullptr; ///< colour stops of an own map
    QWidget* m_stopsRow = nullptr;
    QComboBox* m_gamma = nullptr;
    QCheckBox* m_smooth = nullptr;
    QCheckBox* m_keep = nullptr;
    ElidedLabel* m_probe = nullptr;
};

} // namespace retro::views
