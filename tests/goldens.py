"""Names of the models whose outputs the original implementations wrote."""

ALLENNLP = [
    "m1_relu_hw2_l2",
    "m2_tanh_hw1_l1_noclip",
    "m3_relu_hw0_l3",
    "m4_tanh_hw2_l2_clipbites",
    "m5_relu_hw1_l3_clipbites",
    "m6_tanh_hw2_l2_cellcliponly",
]
SIMPLE_ELMO = [
    "t1_noskip_relu_hw2_l2",
    "t2_noskip_tanh_hw1_l3_clipbites",
    "t3_noprojections_hw1_l2",
    "t4_maxchars16_nohwkey_l2",
]
