int hwd_placeholder(void);
